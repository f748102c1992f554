"""The certificates in a PEM file: public by nature, where a key beside them is not."""

import re

_CERTIFICATE = re.compile(
    rb"-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----\s+[A-Za-z0-9+/=\s]+"
    rb"-----END (?:X509 |TRUSTED )?CERTIFICATE-----"
)


def certificates_in(content: bytes) -> str:
    """Return the whole certificates of a PEM file as text; empty where there are none."""
    found = (match.decode("ascii") for match in _CERTIFICATE.findall(content))
    return "".join(f"{one}\n".replace("\r", "") for one in found)
