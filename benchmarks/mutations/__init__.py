"""Mutations: each breaks one promise in a copy of the tree, and a test must turn red."""
