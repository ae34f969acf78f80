"""Exact verification of finite mechanisms: every coin path, every set of outputs, no limit and no sample.

>>> t = gt.verify.program(lambda x, flip: x if flip() else flip(), inputs=[0, 1])
>>> print(t.check("ln 3"))
true: the mechanism is (ln 3)-DP
The least ε is ln 3 ≈ 1.09861.
Worst pair of inputs: 0 and 1; the output 0 has probability 3/4 on the first and 1/4 on the second, 3 times.
"""

from giveortake.verify.enumeration import Flip
from giveortake.verify.family import Family, family
from giveortake.verify.numbers import Log, LogSum
from giveortake.verify.table import Counterexample, Table, Verdict, program, table

__all__ = ["Counterexample", "Family", "Flip", "Log", "LogSum", "Table", "Verdict", "family", "program", "table"]
