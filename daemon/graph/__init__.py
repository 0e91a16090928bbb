"""The code graph's answers: usages, inheritance, imports, paths and the reach of a change."""
