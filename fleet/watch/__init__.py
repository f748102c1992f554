"""Watching a fleet: audits on a schedule, metrics, and word of what changed."""
