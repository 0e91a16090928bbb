"""Drawings as SVG for pages."""
