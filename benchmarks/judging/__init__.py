"""Judging saved facts: thousands of hosts that carry the same bridge."""
