"""What to read on a target, and what was read: plain data, no judgement."""
