"""Real tables as studies and benchmarks read them; none is part of the repository."""
