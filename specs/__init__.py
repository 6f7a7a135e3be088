"""The contract as data: tables, programs, traces and the oracle that judges them."""
