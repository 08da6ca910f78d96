"""`python -m benchmarks`: the benchmark suite."""

from benchmarks.suite.command import main

if __name__ == "__main__":
    main()
