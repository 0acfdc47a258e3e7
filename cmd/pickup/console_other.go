//go:build !windows

package main

func prepareConsole() {}
