"""The methods of the wire, one file for each noun: typed parameters in, plain maps out."""
