"""What all facts have in common."""

from pydantic import BaseModel, ConfigDict


class Fact(BaseModel):
    """Base of all facts: frozen, and closed to unknown keys."""

    model_config = ConfigDict(
        frozen=True,
        defer_build=True,
        extra="forbid",
        ser_json_bytes="base64",
        val_json_bytes="base64",
    )
