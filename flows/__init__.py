"""Orchestration only: the driver, the executors, settling and publishing, the command line."""
