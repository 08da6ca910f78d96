"""The static sizes of a growth's program, what each kind of device is best at, and the arrays of a growth."""
