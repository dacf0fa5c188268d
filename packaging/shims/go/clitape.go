// Package clitape plays recordings at a gateway with `clitape serve`, in go tests. Copy this folder into your module:
//
//	func TestThreeTools(t *testing.T) {
//		gateway := clitape.Start(t, "my-gateway")
//		gateway.Play("three-tools").NoFindings()
//	}
//
// The program is CLITAPE_BIN, or else clitape on PATH. docs/test-runners.md of clitape describes the protocol.
package clitape

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// Message is a message of the gateway as a person sees it in the end.
type Message struct {
	ID      int64 `json:"message_id"`
	Text    string
	Edits   int
	At      int64 // milliseconds since the person wrote
	Buttons [][]string
	File    string
}

// Call is a call of the gateway, or an act of the person, whose kind is in parentheses.
type Call struct {
	At   int64
	Kind string
	Data map[string]any
}

// Finding is something that a gateway got wrong.
type Finding struct{ ID, Title, Message, Demand, Reproduce string }

// Chat is what a person saw of a recording.
type Chat struct {
	Recording, Ending string
	Passed            bool
	TookMs            int64 `json:"took_ms"`
	Messages          []Message
	FinalText         string `json:"final_text"`
	Calls             []Call
	Findings          []Finding
	Notes, Printed    []string
	t                 testing.TB
}

// NoFindings fails the test with each finding.
func (c Chat) NoFindings() {
	c.t.Helper()
	for _, f := range c.Findings {
		c.t.Errorf("%s %s: %s\nreproduce: %s", f.ID, f.Title, f.Message, f.Reproduce)
	}
}

// Options are fields of a request, such as {"pace": 200} or {"version": "2.1.332"}.
type Options map[string]any

// Gateway is a running `clitape serve`, for one test at a time.
type Gateway struct {
	t       testing.TB
	program string
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	words   bytes.Buffer
	last    int
}

// Start starts `clitape serve` for a subject of clitape.toml. It ends with the test, and with it all that it has started.
func Start(t testing.TB, subject string, args ...string) *Gateway {
	t.Helper()
	program := os.Getenv("CLITAPE_BIN")
	if program == "" {
		program = "clitape"
	}
	// A test is code of this project, so that whoever runs it has agreed to the subject: --yes.
	command := exec.Command(program, append([]string{"--quiet", "serve", "--json", "--yes", subject}, args...)...)
	g := &Gateway{t: t, program: program, command: command}
	g.in, _ = command.StdinPipe() // these fail only if the pipes are there already
	out, _ := command.StdoutPipe()
	g.out, command.Stderr = bufio.NewReader(out), &g.words
	if err := command.Start(); err != nil {
		t.Fatalf("%v: install clitape, or set CLITAPE_BIN to its path", err)
	}
	t.Cleanup(func() { g.in.Close(); g.command.Wait() })
	var greeting struct{ Protocol int }
	if err := g.read(&greeting); err != nil {
		t.Fatal(err)
	}
	if greeting.Protocol != 1 {
		t.Fatalf("%s speaks protocol %d, and this package 1: take both from one version of clitape", program, greeting.Protocol)
	}
	return g
}

// Play plays a recording, NAME or NAME/VERSION, and fails the test if it can't be played.
func (g *Gateway) Play(scenario string, options ...Options) Chat {
	g.t.Helper()
	chat, err := g.TryPlay(scenario, options...)
	if err != nil {
		g.t.Fatal(err)
	}
	return chat
}

// TryPlay is Play with the error as a value.
func (g *Gateway) TryPlay(scenario string, options ...Options) (Chat, error) {
	g.last++
	request := Options{}
	for _, some := range options {
		for key, value := range some {
			request[key] = value
		}
	}
	request["id"], request["play"] = g.last, scenario
	line, err := json.Marshal(request)
	if err != nil {
		return Chat{}, err
	}
	g.in.Write(append(line, '\n')) // if it has ended, the read below says so
	answer := struct {
		Chat
		Error *struct{ Kind, Message string }
	}{Chat: Chat{t: g.t}}
	if err := g.read(&answer); err != nil {
		return Chat{}, err
	}
	if answer.Error != nil {
		return Chat{}, fmt.Errorf("%s: %s", answer.Error.Kind, answer.Error.Message)
	}
	return answer.Chat, nil
}

// read reads a line. At the end of the output it returns the words that the program left on stderr.
func (g *Gateway) read(into any) error {
	line, err := g.out.ReadBytes('\n')
	if err != nil {
		ended := g.command.Wait()
		return fmt.Errorf("%s ended (%v):\n%s", g.program, ended, g.words.String())
	}
	return json.Unmarshal(line, into)
}
