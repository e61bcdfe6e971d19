"""Benchmarks: run by hand ('make bench'), never by the tests; speed is reported, not asserted."""
