"""Ed25519 public keys that anybody can sign for: points of small order, in every encoding a reader may take.

RFC 8032, section 5.1, gives the curve and the encoding: y in 255 bits, then the sign of x; 5.1.3 decodes no y that
is p or more. The curve's order is 8 times a prime, so eight points have an order that divides 8. With such a key a
signature can be made that is good for a share of all messages, or for every one, without any secret; verification
with or without the cofactor does not refuse it by itself. Their y are 0, 1, -1 and the two below.
"""

from __future__ import annotations

_P = 2**255 - 19
_Y_OF_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL = frozenset({0, 1, _P - 1, _Y_OF_ORDER_8, _P - _Y_OF_ORDER_8})


def is_usable_key(raw: bytes) -> bool:
    """Whether 32 bytes can be a holder's public key: the one encoding of its point, and none of small order."""
    if len(raw) != 32:
        return False
    y = int.from_bytes(raw, "little") & (2**255 - 1)  # both signs of x
    return y < _P and y not in _SMALL
