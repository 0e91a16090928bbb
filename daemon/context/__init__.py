"""Scopes and the sandwich: rules, constraints, decisions, focus and horizon."""
