"""The benchmark: every test here is an eval."""
