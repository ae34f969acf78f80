"""OpenDP's synthetic tables: `TABLE.npy OUT.npy SIZES METHOD RHO` writes rows, and says seconds and megabytes."""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np
import opendp.prelude as dp
import polars as pl


def main(path: str, out: str, sizes: str, method: str, rho: str) -> None:
    dp.enable_features("contrib")
    table = np.load(path)
    names = [f"c{place}" for place in range(table.shape[1])]
    frame = pl.LazyFrame({name: table[:, place] for place, name in enumerate(names)})
    keys = {name: list(range(size)) for name, size in zip(names, json.loads(sizes), strict=True)}
    context = dp.Context.compositor(
        data=frame, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=float(rho))
    )
    algorithm = dp.mbi.MST() if method == "mst" else dp.mbi.AIM(queries=2)
    begun = time.process_time()
    made = context.query(rho=float(rho)).select(names).contingency_table(keys=keys, algorithm=algorithm).release()
    rows = made.synthesize()
    seconds = time.process_time() - begun
    there = rows.select(names).drop_nulls()  # to every column it adds a category for what is missing
    np.save(out, there.to_numpy().astype(np.int64))
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024]))


if __name__ == "__main__":
    main(*sys.argv[1:])
