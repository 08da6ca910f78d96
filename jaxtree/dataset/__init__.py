"""From the arguments of `fit` to rows in codes: what lies between a user's table and growth, for every estimator."""
