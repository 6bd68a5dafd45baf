"""The claims of the book, the checks that decide them, and the ledger of verdicts.

Importing this package is cheap: numerical and algebraic libraries are loaded by the checks
that need them, when they run.
"""
