"""Owns the queries of Ruby."""

from __future__ import annotations

# The bodies begin at the first statement, below the comments above it, so that heads need their own end.
_MADE = """(call receiver: (constant) @when arguments: (_) @head)"""

RUBY = f"""
((class name: (_) @path superclass: (_) @head) @def (#set! kind "class"))
((class name: (_) @path @head) @def (#set! kind "class"))
((module name: (_) @path @head) @def (#set! kind "module"))
((method name: (_) @name parameters: (_) @head) @def (#set! kind "method"))
((method name: (_) @name @head) @def (#set! kind "method"))
((singleton_method object: (self) name: (_) @name parameters: (_) @head) @def (#set! kind "method"))
((singleton_method object: (self) name: (_) @name @head) @def (#set! kind "method"))
((singleton_method object: [(identifier) (constant)] @owner name: (_) @name parameters: (_) @head) @def
  (#set! kind "method"))
((singleton_method object: [(identifier) (constant)] @owner name: (_) @name @head) @def
  (#set! kind "method"))
((assignment left: [(constant) (scope_resolution)] @path right: {_MADE}) @def
  (#set! when "Class Struct Data Module") (#set! kind "class"))
((assignment left: [(constant) (scope_resolution)] @path) @def (#set! kind "constant"))
((call method: (identifier) @when arguments: (argument_list . [(method) (singleton_method)] @of)) @lead
  (#set! when "private protected public module_function private_class_method"))
"""
