"""Carrying a job out over many targets: concurrency, deadlines, order."""
