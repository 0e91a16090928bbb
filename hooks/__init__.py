"""The agents' and editors' doors, clients of the socket like any other."""
