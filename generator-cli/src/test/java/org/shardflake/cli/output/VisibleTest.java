/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;

class VisibleTest {

    @Test
    void noControlCharacterAndNoMarkOfDirectionIsSent() throws Exception {
        for (char c = 0; c < 0x2100; c++) {
            boolean isHostile = Character.isISOControl(c)
                    || Character.getDirectionality(c) == Character.DIRECTIONALITY_RIGHT_TO_LEFT_OVERRIDE
                    || Character.getDirectionality(c) == Character.DIRECTIONALITY_LEFT_TO_RIGHT_OVERRIDE
                    || Character.getDirectionality(c) == Character.DIRECTIONALITY_RIGHT_TO_LEFT_EMBEDDING
                    || Character.getDirectionality(c) == Character.DIRECTIONALITY_LEFT_TO_RIGHT_ISOLATE;
            String text = "a" + c + "b";
            if (isHostile) {
                assertThat(Visible.line(text)).as("%x", (int) c).matches("a\\\\([nrt]|u[0-9a-f]{4})b");
            } else if (c != 0x2028 && c != 0x2029 && !isOtherMark(c)) {
                assertThat(Visible.line(text)).isEqualTo(text);
            }
            String json = JsonWriter.write(text);
            assertThat(new ObjectMapper().readValue(json, String.class)).isEqualTo(text);
            assertThat(json.chars().noneMatch(Character::isISOControl)).as(json).isTrue();
        }
        assertThat(Visible.lines("a\n\tb\u001b[2Jc\u009b31m")).isEqualTo("a\n\tb\\u001b[2Jc\\u009b31m");
    }

    private static boolean isOtherMark(char c) {
        return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
    }
}
