"""A prediction of times on devices that nobody has timed, from compiled programs and public rates."""
