"""How often requests are slower with keystream computed ahead than without, counted over runs of
`paes bench speculate`. What chance contributes, runs with --window 0 say: they compare direct computing with
itself."""
from .values import size

CIPHER = "aes-256-ctr"
MOST_DELAY_US = 5  # With longer delays no combination is slower.


def is_slower(row):
    """Half of the requests wait longer, by more than 3 % and 25 ns."""
    direct, ahead = (row[way]["encrypt"]["p50_ns"] for way in ("direct", "speculative"))
    return ahead > 1.03 * direct and ahead > direct + 25


def has_less_throughput(row):
    """By more than 3 %."""
    return row["throughput_ratio"]["median"] < 0.97


def runs(documents):
    """By (whether direct computing was compared with itself, bytes of a round): the runs, each a row for every
    combination. A run may be spread over several documents; it ends where a combination comes once more."""
    found = {}
    for row in (row for document in documents for row in document["results"]):
        if row["cipher"] != CIPHER or row["delay_us"] > MOST_DELAY_US:
            continue
        these = found.setdefault((row["window_chunks"] == 0, row["requests"] * row["request_bytes"]), [])
        combination = tuple(row[name] for name in ("kernel", "clients", "workers", "delay_us"))
        for run in these:
            if combination not in run:
                run[combination] = row
                break
        else:
            these.append({combination: row})
    return found


def table(documents):
    yield "| compared | rounds of | combinations | slower in p50 | less throughput |"
    yield "|---|---:|---:|---:|---:|"
    for (is_itself, count), these in sorted(runs(documents).items(), key=lambda item: (item[0][1], not item[0][0])):
        counted = [", ".join(str(sum(map(is_missed, run.values()))) for run in these)
                   for is_missed in (is_slower, has_less_throughput)]
        what = "direct with itself" if is_itself else "ahead with direct"
        yield f"| {what} | {size(count)} | {len(these[0])} | {counted[0]} | {counted[1]} |"
