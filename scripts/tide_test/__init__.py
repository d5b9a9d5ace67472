"""What stands behind ./test: builds, suites, their results and the conformance table."""
