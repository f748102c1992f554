"""Judging: from facts and expectations to findings. Pure."""
