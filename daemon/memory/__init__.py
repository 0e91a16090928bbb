"""The pool of decisions that finished agents leave behind."""
