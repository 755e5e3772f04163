"""The record of reads: who saw which records of the tables that are marked with ``record_reads``."""
