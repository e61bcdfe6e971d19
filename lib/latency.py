"""A queue simulated from service times: how long a query waits and is answered, under steady, batched and bursty load (SPEC 11).

Requests are served first come, first served, by ``servers`` that are alike. A free server takes a batch as soon as ``max_batch`` requests wait, or the
oldest has waited ``max_wait`` seconds. With one server and batches of one this is Lindley's recursion. All times are seconds, arrays by request.
"""
from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from lib.whole import check_whole, is_number, is_whole

Batch = Callable[[int, int], float]  # (first request, one past the last) -> seconds to serve them together


class Served(NamedTuple):
    """What became of each request: seconds before its service began, and until its answer (NaN: given up in the queue); requests in its batch."""

    wait: np.ndarray
    latency: np.ndarray
    batch: np.ndarray


def poisson(rate: float, n: int, seed: int) -> np.ndarray:
    """Arrival times of n requests at a mean ``rate`` a second, each independent of the others.

    >>> bool((np.diff(poisson(2.0, 5, seed=0)) > 0).all())
    True
    """
    check_whole("the number of requests", n, 0)
    return np.cumsum(np.random.default_rng(seed).exponential(1 / _positive(rate), n))


def bursts(rate: float, n: int, seed: int, size: float = 5.0) -> np.ndarray:
    """Arrivals in groups at one instant: Poisson groups of geometric size, mean ``size``, at the same mean ``rate`` of requests a second."""
    check_whole("the number of requests", n, 0)
    if not 1 <= size < math.inf:
        raise ValueError(f"the mean size of a burst is at least 1 request, got {size}")
    rng = np.random.default_rng(seed)
    sizes = rng.geometric(1 / size, n)
    return np.repeat(np.cumsum(rng.exponential(size / _positive(rate), n)), sizes)[:n]


def on_off(rate: float, n: int, seed: int, on: float = 0.2, cycle: float = 30.0) -> np.ndarray:
    """Arrivals that come only while a source is on: a share ``on`` of the time, in spells of mean ``on * cycle`` seconds; mean ``rate`` over all time."""
    check_whole("the number of requests", n, 0)
    if not 0 < on <= 1 or not 0 < cycle < math.inf:
        raise ValueError(f"on must lie in (0, 1] and cycle be positive seconds, got {on} and {cycle}")
    if not n:
        return np.zeros(0)
    rng = np.random.default_rng(seed)
    busy = poisson(rate / on, n, int(rng.integers(2**32)))  # on the clock that runs only while the source is on
    spells = np.cumsum(rng.exponential(on * cycle, max(2, math.ceil(4 * busy[-1] / (on * cycle)) + 50)))
    pauses = np.concatenate([[0.0], np.cumsum(rng.exponential((1 - on) * cycle, len(spells)))])
    return busy + pauses[np.searchsorted(spells, busy)]


def simulate(arrivals: Sequence[float], service: Sequence[float] | Batch, servers: int = 1, max_batch: int = 1, max_wait: float = 0.0,
             give_up: float = math.inf) -> Served:
    """Serve ``arrivals`` (ascending seconds). ``service``: seconds of each request, or a function of a batch (first, last + 1) where they are served together.

    A request that has not begun after ``give_up`` seconds is dropped unserved. Raises ValueError for unsorted arrivals, service times that are not
    positive or not finite, fewer than one server or request a batch, and lists of service times with batches above one.
    """
    arrivals = np.asarray(arrivals, float)
    if len(arrivals) and (np.diff(arrivals) < 0).any():
        raise ValueError("arrivals must ascend: sort them first")
    if not (np.isfinite(arrivals) & (arrivals >= 0)).all():
        raise ValueError(f"arrivals are seconds from 0 on, got {arrivals[~(np.isfinite(arrivals) & (arrivals >= 0))][0]}; count them from the first")
    if not is_whole(servers, 1) or not is_whole(max_batch, 1) or not is_number(max_wait, 0) or not give_up > 0:
        raise ValueError(f"servers and max_batch are at least 1, max_wait at least 0 and give_up above 0, got {servers}, {max_batch}, {max_wait}, {give_up}")
    if callable(service):
        return _events(arrivals, service, servers, max_batch, max_wait, give_up)
    seconds = np.asarray(service, float)
    if len(seconds) != len(arrivals) or not (np.isfinite(seconds) & (seconds > 0)).all():
        raise ValueError(f"got {len(arrivals)} arrivals and {len(seconds)} service times: one positive number of seconds a request is needed")
    if max_batch > 1:
        raise ValueError("batches need service as a function of a batch (first, last + 1): a list of seconds does not say what several cost together")
    if servers == 1 and give_up == math.inf:
        wait = lindley(arrivals, seconds)
        return Served(wait, wait + seconds, np.ones(len(arrivals), int))
    return _events(arrivals, lambda first, last: seconds[first], servers, 1, 0.0, give_up)


def lindley(arrivals: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Waits at one server: W(n+1) = max(0, W(n) + S(n) - A(n+1)), from running minima.

    >>> lindley(np.array([0.0, 1.0, 5.0]), np.array([3.0, 1.0, 1.0])).tolist()
    [0.0, 2.0, 0.0]
    """
    if not len(arrivals):
        return np.zeros(0)
    walk = np.concatenate([[0.0], np.cumsum(seconds[:-1] - np.diff(arrivals))])
    return walk - np.minimum.accumulate(walk)


def _events(arrivals: np.ndarray, service: Batch, servers: int, max_batch: int, max_wait: float, give_up: float) -> Served:
    n, head, free = len(arrivals), 0, [0.0] * servers
    wait, latency, batch = np.full(n, math.nan), np.full(n, math.nan), np.zeros(n, int)
    while head < n:
        full = arrivals[head + max_batch - 1] if head + max_batch <= n else math.inf
        start = max(free[0], arrivals[head], min(full, arrivals[head] + max_wait))
        if start - arrivals[head] > give_up:
            head += 1
            continue
        last = head + 1
        while last < n and last < head + max_batch and arrivals[last] <= start:
            last += 1
        seconds = service(head, last)
        if not is_number(seconds, 0) or seconds == 0:
            raise ValueError(f"requests {head} to {last - 1} took {seconds} seconds together; service must give a positive number of seconds")
        wait[head:last], latency[head:last], batch[head:last] = start - arrivals[head:last], start + seconds - arrivals[head:last], last - head
        heapq.heapreplace(free, start + seconds)
        head = last
    return Served(wait, latency, batch)


def mm1_wait(rate: float, mean_service: float) -> float:
    """Mean wait in the queue M/M/1: load times service over (1 - load); inf from load 1 on.

    >>> mm1_wait(0.5, 1.0)
    1.0
    """
    load = _load(rate, mean_service)
    return load * mean_service / (1 - load) if load < 1 else math.inf


def md1_wait(rate: float, mean_service: float) -> float:
    """Mean wait in the queue M/D/1 (service always takes the same): half of M/M/1's."""
    return mm1_wait(rate, mean_service) / 2


def mm1_quantile(rate: float, mean_service: float, share: float) -> float:
    """Quantile of the latency (wait and service) in M/M/1, which is exponential with mean service / (1 - load).

    >>> round(mm1_quantile(0.5, 1.0, 0.99), 3)
    9.21
    """
    if not 0 <= share < 1:
        raise ValueError(f"the share of a quantile lies in [0, 1), got {share}")
    load = _load(rate, mean_service)
    return -math.log(1 - share) * mean_service / (1 - load) if load < 1 else math.inf


def _load(rate: float, mean_service: float) -> float:
    if not is_number(rate, 0) or not is_number(mean_service, 0):
        raise ValueError(f"a rate (requests a second) and a mean service time (seconds) are numbers of 0 or more, got {rate} and {mean_service}")
    return rate * mean_service


def _positive(rate: float) -> float:
    if not is_number(rate, 0) or rate == 0:
        raise ValueError(f"a rate is a positive number of requests a second, got {rate}")
    return rate
