"""How benchmarks are run, timed beside a peer or a floor, printed and kept."""
