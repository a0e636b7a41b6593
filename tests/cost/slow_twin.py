"""The equations of the specification (domain.md, sections 2 and 3) as plain loops over lists.

Written from the page and not from the program: no array, no running sum, a function per row of the
table of schemes. The program is held equal to this.

Symbols: f, a, g per layer; B, E, Q; S, the samples of a batch that the server sees; p and p_s;
r(i, j) between clients, r_s[n] to the server; h, v; k[n], the client that serves n; n_k, how many
models it hosts.
"""

import math
from fractions import Fraction

END_TO_END = ("sfl", "multihop")


class Page:
    """The symbols of the page for one instance, taken from the file formats' plain numbers."""

    def __init__(self, fleet, work, scheme):
        fleet_file, layers = fleet.to_dict(), work.profile.to_dict()["layers"]
        self.f = [layer["flops"] for layer in layers]
        self.a = [layer["weight_bytes"] for layer in layers]
        self.g = [layer["activation_bytes"] for layer in layers]
        self.L = len(layers)
        self.B, self.E = work.batch, work.epochs
        wanted = math.ceil(self.B * Fraction(work.server_share).limit_denominator(1000))
        self.S = self.B if scheme in END_TO_END else min(self.B, max(2, wanted))
        clients, links = fleet_file["clients"], fleet_file["links"]
        self.N = len(clients)
        self.p = [client["throughput"] for client in clients]
        self.p_s = fleet_file["server"]["throughput"]
        self.r_s = links["to_server"]
        self.between, self.access = links.get("between"), links.get("access")
        parts = work.portions
        self.Q = max(math.ceil(max(1, one["examples"] // parts) / self.B) for one in clients)

    def r(self, i, j):
        if i == j:
            return math.inf
        if self.access is not None:
            return min(self.access[i], self.access[j])
        return self.between[i][j]

    def F(self, i, j):
        return self.B * sum(self.f[layer - 1] for layer in range(i, j + 1))

    def A(self, i, j):
        return sum(self.a[layer - 1] for layer in range(i, j + 1))

    def G(self, layer):
        return self.B * self.g[layer - 1]

    def up(self, layer):
        """Of the activations what goes up to the server."""
        return self.S * self.g[layer - 1]

    def T_s(self, v_of):
        """3 N F(v+1, L) S / B / p_s, with the cut of every client."""
        return sum(3 * self.F(v + 1, self.L) * self.S / self.B / self.p_s for v in v_of)


# ---------------------------------------------------------------- seconds, the paper's model


def paper_seconds(page, scheme, h, v, own_cuts, k):
    """T_round of the scheme of that name."""
    same_cut = [v] * page.N
    if scheme == "sfl":
        t1, t_fp, t_bp = _sfl(page, v)
    elif scheme == "multihop":
        t1, t_fp, t_bp = _multihop(page, h, v, k)
    elif scheme == "locsfl":
        t1, t_fp, t_bp = _locsfl(page, same_cut)
    elif scheme == "dtfl":
        t1, t_fp, t_bp = _locsfl(page, own_cuts)
    else:
        t1, t_fp, t_bp = _aa(page, h, v, k)
    return t1 + page.E * page.Q * (t_fp + t_bp) + t1


def _t1_three_tiers(page, h, v, k):
    everybody = max(page.A(1, h) / page.r_s[n] for n in range(page.N))
    aggregators = max(page.A(1, v) / page.r_s[n] for n in range(page.N) if k[n] == n)
    return max(everybody, aggregators)


def _t_fp_three_tiers(page, h, v, k):
    return max(
        page.F(1, h) / page.p[n]
        + page.G(h) / page.r(n, k[n])
        + k.count(k[n]) * page.F(h + 1, v) / page.p[k[n]]
        + page.up(v) / page.r_s[k[n]]
        for n in range(page.N)
    )


def _aa(page, h, v, k):
    t_bp = max(
        2 * k.count(k[n]) * page.F(h + 1, v) / page.p[k[n]]
        + page.G(h) / page.r(k[n], n)
        + 2 * page.F(1, h) / page.p[n]
        for n in range(page.N)
    )
    return (
        _t1_three_tiers(page, h, v, k),
        _t_fp_three_tiers(page, h, v, k),
        max(page.T_s([v] * page.N), t_bp),
    )


def _multihop(page, h, v, k):
    t_bp = max(
        page.up(v) / page.r_s[k[n]]
        + 2 * k.count(k[n]) * page.F(h + 1, v) / page.p[k[n]]
        + page.G(h) / page.r(k[n], n)
        + 2 * page.F(1, h) / page.p[n]
        for n in range(page.N)
    )
    return (
        _t1_three_tiers(page, h, v, k),
        _t_fp_three_tiers(page, h, v, k),
        page.T_s([v] * page.N) + t_bp,
    )


def _sfl(page, v):
    clients = range(page.N)
    t1 = max(page.A(1, v) / page.r_s[n] for n in clients)
    t_fp = max(page.F(1, v) / page.p[n] + page.up(v) / page.r_s[n] for n in clients)
    t_bp = max(page.up(v) / page.r_s[n] + 2 * page.F(1, v) / page.p[n] for n in clients)
    return t1, t_fp, page.T_s([v] * page.N) + t_bp


def _locsfl(page, v_of):
    clients = range(page.N)
    t1 = max(page.A(1, v_of[n]) / page.r_s[n] for n in clients)
    t_fp = max(page.F(1, v_of[n]) / page.p[n] + page.up(v_of[n]) / page.r_s[n] for n in clients)
    t_bp = max(2 * page.F(1, v_of[n]) / page.p[n] for n in clients)
    return t1, t_fp, max(page.T_s(v_of), t_bp)


# ---------------------------------------------------------------- seconds, the network's model


def network_seconds(page, scheme, h, v, own_cuts, k, *, batch_by_batch=False):
    """T_round where uploads share a link, and under a local loss nobody waits for the server.

    A pipelined epoch is counted by the documented formula, or played batch by batch.
    """
    if scheme in ("sfl", "locsfl", "dtfl"):
        k = list(range(page.N))
        v_of = own_cuts if scheme == "dtfl" else [v] * page.N
        h_of = v_of
        t1 = max(page.A(1, v_of[n]) / page.r_s[n] for n in range(page.N))
    else:
        h_of, v_of = [h] * page.N, [v] * page.N
        t1 = _t1_three_tiers(page, h, v, k)
    shape = (page, h_of, v_of, k)
    if scheme in ("sfl", "multihop"):
        epoch = _end_to_end_batch(*shape) + (page.Q - 1) * _steady_batch(*shape)
    else:
        epoch = _played_epoch(*shape) if batch_by_batch else _pipelined_epoch(*shape)
    return t1 + page.E * epoch + t1


def _members(k, aggregator):
    return [n for n in range(len(k)) if k[n] == aggregator]


def _weak(page, h_of, n):
    return page.F(1, h_of[n]) / page.p[n]


def _hosting(page, h_of, v_of, k, n):
    return sum(page.F(h_of[m] + 1, v_of[m]) for m in _members(k, k[n])) / page.p[k[n]]


def _middle(page, h_of, v_of, k, n):
    return page.F(h_of[n] + 1, v_of[n]) / page.p[k[n]]


def _processor(page, h_of, v_of, k, n):
    """All that n's aggregator computes for a batch of everybody it serves."""
    return 3 * (_weak(page, h_of, k[n]) + _hosting(page, h_of, v_of, k, n))


def _uplink(page, v_of, k, n):
    """All the models of n's aggregator, one after another on its link to the server."""
    return sum(page.up(v_of[m]) for m in _members(k, k[n])) / page.r_s[k[n]]


def _hops_on_radio(page, h_of, k, n):
    return sum(page.G(h_of[m]) / page.r(m, k[n]) for m in _members(k, k[n]))


def _end_to_end_batch(page, h_of, v_of, k):
    """The gradient comes back from the server; all start at once, and wait for one another."""

    def hop(n):
        if k[n] == n:
            return 0.0
        if page.access is not None:
            return _hops_on_radio(page, h_of, k, n)
        return page.G(h_of[n]) / page.r(n, k[n])

    ways = [
        (
            _weak(page, h_of, n),
            hop(n),
            _hosting(page, h_of, v_of, k, n),
            _uplink(page, v_of, k, n),
        )
        for n in range(page.N)
    ]
    forward = max(weak + hop + hosting + uplink for weak, hop, hosting, uplink in ways)
    backward = max(uplink + 2 * hosting + hop + 2 * weak for weak, hop, hosting, uplink in ways)
    return forward + page.T_s(v_of) + backward


def _steady_batch(page, h_of, v_of, k):
    """Later batches wait for nobody: the slowest cycle, or who has most to do for everybody."""
    cycles = []
    for n in range(page.N):
        hop = page.G(h_of[n]) / page.r(n, k[n])
        below = 3 * _weak(page, h_of, n) + 2 * hop + 3 * _middle(page, h_of, v_of, k, n)
        served = 3 * page.F(v_of[n] + 1, page.L) / page.p_s
        cycles.append(below + 2 * page.up(v_of[n]) / page.r_s[k[n]] + served)
        cycles += [_processor(page, h_of, v_of, k, n), _uplink(page, v_of, k, n)]
        if page.access is not None:
            cycles.append(2 * _hops_on_radio(page, h_of, k, n) + 2 * _uplink(page, v_of, k, n))
    return max(*cycles, page.T_s(v_of))


def _pipelined_epoch(page, h_of, v_of, k):
    """The last batch leaves after its own way through, plus the slowest stage per earlier batch."""
    server = page.T_s(v_of)
    ends = []
    for n in range(page.N):
        hop = page.G(h_of[n]) / page.r(n, k[n])
        weak, middle = _weak(page, h_of, n), _middle(page, h_of, v_of, k, n)
        uplink = _uplink(page, v_of, k, n)
        chain = max(3 * weak + 2 * hop + 3 * middle, _processor(page, h_of, v_of, k, n))
        radio = 0.0
        if page.access is not None:
            radio = 2 * _hops_on_radio(page, h_of, k, n) + uplink
        slowest_stage = max(chain, radio, uplink, server)
        way_through = weak + hop + middle + uplink + server
        ends += [page.Q * max(chain, radio), way_through + (page.Q - 1) * slowest_stage]
    return max(ends)


def _played_epoch(page, h_of, v_of, k):
    """Batch by batch: a client's chain, its aggregator's processor, uplink, radio, the server."""
    clients = range(page.N)
    server = page.T_s(v_of)
    ready, over = [0.0] * page.N, 0.0
    sent, radio_free, processor_free = ([0.0] * page.N for _ in range(3))
    served = 0.0
    for _ in range(page.Q):
        arrived = [0.0] * page.N
        for n in clients:
            hop = page.G(h_of[n]) / page.r(n, k[n])
            weak, middle = _weak(page, h_of, n), _middle(page, h_of, v_of, k, n)
            start = max(ready[n], radio_free[k[n]], processor_free[k[n]])
            cut = start + weak + hop + middle
            arrived[k[n]] = max(arrived[k[n]], cut)
            ready[n] = cut + 2 * middle + hop + 2 * weak
        for j in set(k):
            processor_free[j] += _processor(page, h_of, v_of, k, j)
            sent[j] = max(arrived[j], sent[j]) + _uplink(page, v_of, k, j)
            if page.access is not None:
                busy = 2 * _hops_on_radio(page, h_of, k, j) + _uplink(page, v_of, k, j)
                radio_free[j] += busy
        served = max(served, *sent) + server
        over = max(over, served, *ready, *radio_free, *processor_free)
    return over


# ---------------------------------------------------------------- bytes per round


def total_bytes(page, scheme, h, v, own_cuts, k):
    """The last column of the table."""
    N, K, EQ = page.N, len(set(k)), page.E * page.Q
    A, G, up = page.A, page.G, page.up
    if scheme == "sfl":
        return 2 * N * A(1, v) + EQ * 2 * N * up(v)
    if scheme == "multihop":
        return 2 * N * A(1, v) + EQ * (2 * (N - K) * G(h) + 2 * N * up(v))
    if scheme == "locsfl":
        return 2 * N * A(1, v) + EQ * N * up(v)
    if scheme == "dtfl":
        return sum(2 * A(1, v_n) + EQ * up(v_n) for v_n in own_cuts)
    return 2 * (N * A(1, h) + K * A(h + 1, v)) + EQ * (2 * (N - K) * G(h) + N * up(v))
