"""The system ``skills``: the skill that the palace's wake-up refers to."""
