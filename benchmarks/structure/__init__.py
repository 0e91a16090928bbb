"""Measures the structural side: what it says of call sites, held against independent tools."""
