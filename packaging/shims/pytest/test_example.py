"""An example of tests with clitape: `pytest`. conftest.py names the plugin, and pytest.ini the subject."""

import pytest
from clitape_pytest import ClitapeError


def test_a_person_sees_the_answer_and_nothing_is_wrong(clitape):
    chat = clitape.play("three-tools")
    assert chat.findings == []
    assert len(chat.messages) == 1
    assert "port 8081" in chat.final_text


def test_a_recording_that_is_not_there_is_an_error_that_says_what_to_do(clitape):
    with pytest.raises(ClitapeError, match="three-tools"):
        clitape.play("three-tolls")
