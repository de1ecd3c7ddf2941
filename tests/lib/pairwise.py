"""Few rows out of a product, in which every two choices still meet."""

import itertools


def pairs_of(row):
    """((factor, value), (factor, value)) of each two choices."""
    return itertools.combinations(enumerate(row), 2)


def by_pair(rows):
    """Each pair that is in one of `rows` -> those rows."""
    found = {}
    for row in rows:
        for pair in pairs_of(row):
            found.setdefault(pair, []).append(row)
    return found


def cover(rows):
    """Some of `rows`, so that each pair of theirs is in one of them. The same
    each time."""
    found = by_pair(rows)
    missing, chosen = set(found), set()
    # Begin with the pairs that fewest rows can meet.
    for pair in sorted(found, key=lambda pair: len(found[pair])):
        if pair in missing:
            best = max(found[pair], key=lambda row: sum(
                each in missing for each in pairs_of(row)))
            chosen.add(best)
            missing.difference_update(pairs_of(best))
    return [row for row in rows if row in chosen]
