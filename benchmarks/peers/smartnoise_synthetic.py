"""smartnoise-synth's tables: `TABLE.npy OUT.npy SIZES METHOD EPSILON DELTA` writes rows, and says CPU and megabytes."""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np
import pandas as pd
from snsynth import Synthesizer


def main(path: str, out: str, _sizes: str, method: str, epsilon: str, delta: str) -> None:
    table = np.load(path)
    names = [f"c{place}" for place in range(table.shape[1])]
    frame = pd.DataFrame(table, columns=names)
    begun = time.process_time()
    made = Synthesizer.create(method, epsilon=float(epsilon), delta=float(delta))
    made.fit(frame, categorical_columns=names)  # it takes their values from the rows
    rows = made.sample(len(frame))
    seconds = time.process_time() - begun
    np.save(out, pd.DataFrame(rows, columns=names)[names].to_numpy().astype(np.int64))
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024]))


if __name__ == "__main__":
    main(*sys.argv[1:])
