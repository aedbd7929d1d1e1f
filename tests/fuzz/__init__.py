"""Everything that reads bytes from outside gets valid inputs, broken in many ways, and may only refuse them.

python -m tests.fuzz --count 100000            all targets, another seed each time
python -m tests.fuzz --target columns --seed 7 one target, the same inputs again
python -m tests.fuzz --target columns --input 00ff...   one input, as a finding shows it

A target is a function over bytes, some valid inputs, and the errors that it may raise: `targets.py` lists them.
"""
