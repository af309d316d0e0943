"""The experts' latents: Gumbel differences, the interval they leave to each coordinate, and the sweep over cases."""

from __future__ import annotations

import math

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.models.compiled import kernel
from quorate.models.full.linear import cholesky, solve_lower, solve_upper
from quorate.models.full.state import Data, Prior, State, first_expert
from quorate.models.full.truncated import truncated_normal

BOUNDLESS = 1e10
"""A bound that is not there; finite, so that no difference of bounds is NaN."""


@kernel
def utilities(z: Floats, K: int, tau: float, tempered: bool, out: Floats) -> None:
    """What an expert's vote maximises once Gumbels are added: theta / tau, or log theta without a temperature."""
    top = 0.0
    for k in range(K - 1):
        top = max(top, z[k])
    if not tempered:
        for k in range(K):
            out[k] = z[k] if k < K - 1 else 0.0
        return
    total = 0.0
    for k in range(K):
        out[k] = math.exp((z[k] if k < K - 1 else 0.0) - top)
        total += out[k]
    for k in range(K):
        out[k] /= total * tau


@kernel
def gumbel_differences(
    rng: np.random.Generator, z: Floats, vote: int, tau: float, tempered: bool, D: Floats, scratch: Floats
) -> None:
    """Draw D_j = tau (G_j - G_vote) given a latent block (K-1,) and that the vote had the largest utility.

    The largest of utilities plus Gumbels is itself a Gumbel around their log-sum-exp, whoever has it; the others are
    Gumbels cut off below it.
    """
    K = D.shape[0]
    utilities(z, K, tau, tempered, scratch)
    top, total = scratch[0], 0.0
    for k in range(1, K):
        top = max(top, scratch[k])
    for k in range(K):
        total += math.exp(scratch[k] - top)
    largest = top + math.log(total) - math.log(rng.standard_exponential())
    for j in range(K):
        if j == vote:
            D[j] = 0.0
        else:
            gumbel = -math.log(math.exp(scratch[j] - largest) + rng.standard_exponential())
            D[j] = tau * (gumbel - (largest - scratch[vote]))


@kernel
def _share_bounds(z: Floats, c: int, vote: int, D: Floats, top: float, rest: float) -> tuple[float, float]:
    """Bounds of u = theta_c given D: every other class has theta_j = r_j (1 - u), which is linear in u."""
    K = D.shape[0]
    lower, upper, r_vote = 0.0, 1.0, 0.0
    if vote != c:
        r_vote = math.exp((z[vote] if vote < K - 1 else 0.0) - top) / rest
        upper = (r_vote - D[c]) / (1.0 + r_vote)
    for j in range(K):
        if j in (vote, c):
            continue
        r = math.exp((z[j] if j < K - 1 else 0.0) - top) / rest
        if vote == c:
            lower = max(lower, (D[j] + r) / (1.0 + r))
        elif r_vote > r and D[j] > 0.0:
            upper = min(upper, 1.0 - D[j] / (r_vote - r))
        elif r_vote < r:
            lower = max(lower, 1.0 - D[j] / (r_vote - r))
    return lower, upper


@kernel
def _tempered_interval(z: Floats, c: int, vote: int, D: Floats) -> tuple[float, float]:
    """Bounds of z_c when votes follow theta / tau: bounds of theta_c, seen through the logit."""
    K = D.shape[0]
    top = 0.0
    for j in range(K - 1):
        if j != c:
            top = max(top, z[j])
    rest = math.exp(-top)
    for j in range(K - 1):
        if j != c:
            rest += math.exp(z[j] - top)
    lower, upper = _share_bounds(z, c, vote, D, top, rest)
    offset = top + math.log(rest)
    low, high = -BOUNDLESS, BOUNDLESS
    if lower > 0.0:
        low = offset + math.log(lower) - math.log1p(-lower) if lower < 1.0 else BOUNDLESS
    if upper < 1.0:
        high = offset + math.log(upper) - math.log1p(-upper) if upper > 0.0 else -BOUNDLESS
    return low, high


@kernel
def _plain_interval(z: Floats, c: int, vote: int, D: Floats) -> tuple[float, float]:
    """Bounds of z_c when votes follow theta itself: the utilities are the log-ratios, linear in z_c."""
    K = D.shape[0]
    if vote != c:
        return -BOUNDLESS, (z[vote] if vote < K - 1 else 0.0) - D[c]
    low = -BOUNDLESS
    for j in range(K):
        if j != c:
            low = max(low, (z[j] if j < K - 1 else 0.0) + D[j])
    return low, BOUNDLESS


@kernel
def interval(z: Floats, c: int, vote: int, D: Floats, tempered: bool) -> tuple[float, float]:
    """The interval in which z_c leaves the vote the winner, given the rest of its block (K-1,) and D (K,)."""
    return _tempered_interval(z, c, vote, D) if tempered else _plain_interval(z, c, vote, D)


@kernel
def _split_pattern(data: Data, p: int, seen: Ints, unseen: Ints) -> tuple[int, int]:
    """Write the coordinates of observed and of unobserved agents of a pattern; return how many."""
    block, m, u = data.K - 1, 0, 0
    for agent in range(data.patterns.shape[1]):
        for k in range(block):
            if data.patterns[p, agent]:
                seen[m] = agent * block + k
                m += 1
            else:
                unseen[u] = agent * block + k
                u += 1
    return m, u


@kernel
def _integrate_out(Q: Floats, seen: Ints, unseen: Ints, L: Floats, B: Floats, P: Floats) -> bool:
    """Precision P of the seen coordinates alone, the factor L of Q_uu, and B = L^-1 Q_us."""
    A = np.empty((unseen.shape[0], unseen.shape[0]))
    column = np.empty(unseen.shape[0])
    for a in range(unseen.shape[0]):
        for b in range(a + 1):
            A[a, b] = Q[unseen[a], unseen[b]]
    if not cholesky(A, L):
        return False
    for b in range(seen.shape[0]):
        for a in range(unseen.shape[0]):
            column[a] = Q[unseen[a], seen[b]]
        solve_lower(L, column)
        for a in range(unseen.shape[0]):
            B[a, b] = column[a]
    for a in range(seen.shape[0]):
        for b in range(a + 1):
            value = Q[seen[a], seen[b]]
            for u in range(unseen.shape[0]):
                value -= B[u, a] * B[u, b]
            P[a, b] = value
            P[b, a] = value
    return True


@kernel
def _sweep_case(
    rng: np.random.Generator, data: Data, prior: Prior, state: State, i: int, seen: Ints, P: Floats, r: Floats
) -> None:
    """Redraw the latents of a case's voters one coordinate at a time; r holds z - mu of the seen coordinates."""
    block, start = data.K - 1, first_expert(data)
    D, scratch = np.empty(data.K), np.empty(data.K)
    for a in range(seen.shape[0]):
        c = seen[a]
        if c < start:
            continue
        h, k = (c - start) // block, (c - start) % block
        first = start + h * block
        z, vote = state.z[i, first : first + block], data.votes[i, h]
        if k == 0:
            gumbel_differences(rng, z, vote, state.tau[0], prior.tempered, D, scratch)
        pull = 0.0
        for b in range(seen.shape[0]):
            pull += P[a, b] * r[b]
        mean = state.mu[c] + r[a] - pull / P[a, a]
        sd = 1.0 / math.sqrt(P[a, a])
        low, high = interval(z, k, vote, D, prior.tempered)
        if low < high:  # rounding can close an interval that holds only the current point
            z[k] = mean + sd * truncated_normal(rng, (low - mean) / sd, (high - mean) / sd)
            r[a] = z[k] - state.mu[c]


@kernel
def sweep_latents(rng: np.random.Generator, data: Data, prior: Prior, state: State) -> bool:
    """Redraw all latents: voters with the unobserved integrated out, then the unobserved; False if Q is singular."""
    size = state.mu.shape[0]
    seen_all, unseen_all = np.empty(size, np.int64), np.empty(size, np.int64)
    for p in range(data.patterns.shape[0]):
        m, u = _split_pattern(data, p, seen_all, unseen_all)
        seen, unseen = seen_all[:m], unseen_all[:u]
        L, B, P = np.empty((u, u)), np.empty((u, m)), np.empty((m, m))
        if not _integrate_out(state.Q, seen, unseen, L, B, P):
            return False
        r, e = np.empty(m), np.empty(u)
        for i in range(data.pattern.shape[0]):
            if data.pattern[i] != p:
                continue
            for a in range(m):
                r[a] = state.z[i, seen[a]] - state.mu[seen[a]]
            _sweep_case(rng, data, prior, state, i, seen, P, r)
            for a in range(u):
                e[a] = rng.standard_normal()
                for b in range(m):
                    e[a] -= B[a, b] * r[b]
            solve_upper(L, e)
            for a in range(u):
                state.z[i, unseen[a]] = state.mu[unseen[a]] + e[a]
    return True
