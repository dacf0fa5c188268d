package clitape

// An example of tests with clitape: `go test`. The subject is in clitape.toml, in this folder or above it.

import (
	"strings"
	"testing"
)

func TestAPersonSeesTheAnswerAndNothingIsWrong(t *testing.T) {
	chat := Start(t, "my-gateway").Play("three-tools")
	chat.NoFindings()
	if len(chat.Messages) != 1 || !strings.Contains(chat.FinalText, "port 8081") {
		t.Errorf("a person reads %q", chat.FinalText)
	}
}

func TestARecordingThatIsNotThereIsAnErrorThatSaysWhatToDo(t *testing.T) {
	_, err := Start(t, "my-gateway").TryPlay("three-tolls")
	if err == nil || !strings.Contains(err.Error(), "three-tools") {
		t.Errorf("the error is %v", err)
	}
}
