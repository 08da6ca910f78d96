"""Soft trees and soft forests as estimators."""
