"""tiercut: plan, train and measure neural networks cut twice and trained on three tiers.

Importing the package is cheap: nothing here pulls in torch. See the README for the command line,
docs/guide.md for the library.
"""

__version__ = "0.1.0"
