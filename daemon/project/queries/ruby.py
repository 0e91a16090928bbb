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

RUBY_CALLS = """
(call !receiver method: (identifier) @function
  arguments: (argument_list . [(string) (call) (binary)] @module .))
(call !receiver method: (identifier) @function
  arguments: (argument_list . (simple_symbol) . (string) @module))
"""

_CONSTANT = "[(constant) (scope_resolution)]"

# A name alone calls a method unless it is a variable.
RUBY_REFERENCES = f"""
(call receiver: {_CONSTANT} @use)
(superclass {_CONSTANT} @inherit)
(argument_list {_CONSTANT} @use)
(assignment right: {_CONSTANT} @use)
(pair value: {_CONSTANT} @use)
(array {_CONSTANT} @use)
(exceptions {_CONSTANT} @use)
(pattern {_CONSTANT} @use)
(binary {_CONSTANT} @use)
(call receiver: (identifier) @bare)
(body_statement (identifier) @bare)
(block_body (identifier) @bare)
(then (identifier) @bare)
(argument_list (identifier) @bare)
(assignment right: (identifier) @bare)
(operator_assignment right: (identifier) @bare)
(pair value: (identifier) @bare)
(binary (identifier) @bare)
(interpolation (identifier) @bare)
(if condition: (identifier) @bare)
(if_modifier (identifier) @bare)
(unless condition: (identifier) @bare)
(unless_modifier (identifier) @bare)
(conditional (identifier) @bare)
"""

# What the language itself calls so and every file does.
_OWN = """
require require_relative autoload load include extend prepend private public protected module_function
attr_reader attr_writer attr_accessor private_constant private_class_method puts print raise lambda proc
loop binding catch throw block_given? freeze"""

RUBY_FACTS = f"""
((call receiver: (_) @first method: [(identifier) (constant)] @last) (#set! fact "call"))
((call !receiver method: (identifier) @last) (#set! fact "call")
  (#set! unless "{" ".join(_OWN.split())}"))
((call !receiver method: (identifier) @when arguments: (argument_list {_CONSTANT} @last))
  (#set! when "include extend prepend") (#set! fact "inherit"))
((assignment left: [(identifier) (instance_variable)] @variable
    right: [(call) (constant) (scope_resolution)] @value)
  (#set! fact "type"))
((assignment left: (identifier) @variable) (#set! fact "type"))
((operator_assignment left: (identifier) @variable) (#set! fact "type"))
((operator_assignment left: (instance_variable) @variable right: (call) @value) (#set! fact "type"))
((left_assignment_list (identifier) @variable) (#set! fact "type"))
((method_parameters [
  (identifier) @variable
  (optional_parameter name: (identifier) @variable)
  (keyword_parameter name: (identifier) @variable)
  (splat_parameter name: (identifier) @variable)
  (hash_splat_parameter name: (identifier) @variable)
  (block_parameter name: (identifier) @variable)]) (#set! fact "type"))
((block_parameters [
  (identifier) @variable
  (optional_parameter name: (identifier) @variable)
  (keyword_parameter name: (identifier) @variable)
  (splat_parameter name: (identifier) @variable)
  (destructured_parameter (identifier) @variable)]) (#set! fact "type"))
((lambda_parameters (identifier) @variable) (#set! fact "type"))
((exception_variable (identifier) @variable) (#set! fact "type"))
((for pattern: (identifier) @variable) (#set! fact "type"))
"""
