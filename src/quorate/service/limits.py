"""How often one may try to sign in: by name, so that a password cannot be guessed, and by address.

An attempt costs one token of a bucket that fills up steadily. Each bucket is one number, the time at which it will be
full again; the least recently used are forgotten when there are too many.
"""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final

MOST_KEYS: Final = 10_000
LONGEST_KEY: Final = 64


class Buckets:
    """One bucket a key: `burst` attempts at once, and one more `every` so many seconds."""

    def __init__(self, *, burst: int, every: float, most: int = MOST_KEYS) -> None:
        self._slack = (burst - 1) * every
        self._every = every
        self._most = most
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def wait(self, key: str, now: float) -> float:
        """Seconds until the next attempt is allowed; 0 if it is now."""
        return max(0.0, self._full_at.get(key, now) - now - self._slack)

    def take(self, key: str, now: float) -> None:
        """Count an attempt."""
        self._full_at[key] = max(self._full_at.get(key, now), now) + self._every
        self._full_at.move_to_end(key)
        if len(self._full_at) > self._most:
            self._full_at.popitem(last=False)

    def give_back(self, key: str) -> None:
        """Uncount an attempt."""
        if key in self._full_at:
            self._full_at[key] -= self._every

    def forget(self, key: str) -> None:
        """Fill the bucket up."""
        self._full_at.pop(key, None)

    def __len__(self) -> int:
        return len(self._full_at)


class SignInLimits:
    """Both limits as one: ten attempts a name and then two a minute, fifty an address and then ten a minute.

    Attempts that succeed do not count, so a clinic behind one address is not kept out by its own people.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        names: Buckets | None = None,
        addresses: Buckets | None = None,
    ) -> None:
        self._clock = clock
        self._names = names or Buckets(burst=10, every=30)
        self._addresses = addresses or Buckets(burst=50, every=6)
        self._lock = Lock()

    def attempt(self, name: str, address: str) -> float:
        """Count an attempt and return 0, or count nothing and return the seconds to wait."""
        now, name, address = self._clock(), name[:LONGEST_KEY], network(address)
        with self._lock:
            wait = max(self._names.wait(name, now), self._addresses.wait(address, now))
            if wait == 0:
                self._names.take(name, now)
                self._addresses.take(address, now)
            return wait

    def succeeded(self, name: str, address: str) -> None:
        """The last attempt was right: it does not count, nor do those before it for this name."""
        with self._lock:
            self._names.forget(name[:LONGEST_KEY])
            self._addresses.give_back(network(address))


def network(address: str) -> str:
    """What one client commands of addresses: one of IPv4, a network of 64 bits of IPv6.

    >>> network("192.0.2.7"), network("2001:db8::7")
    ('192.0.2.7', '2001:db8::/64')
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:LONGEST_KEY]
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
