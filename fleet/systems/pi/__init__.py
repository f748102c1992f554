"""pi itself: its node, its settings, its ground, and the copies of it that run."""
