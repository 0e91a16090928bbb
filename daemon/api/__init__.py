"""The methods of the wire, one file a noun: parameters in, plain maps out."""
