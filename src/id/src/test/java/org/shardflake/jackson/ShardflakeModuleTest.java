/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jackson;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.DatabindException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.ShardflakeId;

class ShardflakeModuleTest {

    private static final ShardflakeId ID = ShardflakeId.of(499335931086511104L);

    private final ObjectMapper mapper =
            JsonMapper.builder().addModule(new ShardflakeModule()).build();

    record Album(ShardflakeId id, @Nullable ShardflakeId cover, List<ShardflakeId> photos) {}

    @Test
    void idIsAStringEverywhere() throws JsonProcessingException {
        Album album = new Album(ID, null, List.of(ShardflakeId.of(7), ShardflakeId.of(-1)));
        String json = "{\"id\":\"499335931086511104\",\"cover\":null,\"photos\":[\"7\",\"-1\"]}";

        assertThat(mapper.writeValueAsString(album)).isEqualTo(json);
        assertThat(mapper.readValue(json, Album.class)).isEqualTo(album);
    }

    @Test
    void keysOfMapsAreIdsToo() throws JsonProcessingException {
        Map<ShardflakeId, String> titles = Map.of(ID, "harbour");
        String json = "{\"499335931086511104\":\"harbour\"}";

        assertThat(mapper.writeValueAsString(titles)).isEqualTo(json);
        assertThat(mapper.readValue(json, new TypeReference<Map<ShardflakeId, String>>() {}))
                .isEqualTo(titles);
    }

    @Test
    void mapperThatLooksForModulesFindsIt() throws JsonProcessingException {
        assertThat(JsonMapper.builder().findAndAddModules().build().writeValueAsString(ID))
                .isEqualTo("\"499335931086511104\"");
    }

    /** As a tree, which has no tokens of its own text. */
    @Test
    void idsAreReadFromATree() throws JsonProcessingException {
        assertThat(mapper.treeToValue(mapper.readTree("[\"499335931086511104\", 7]"), ShardflakeId[].class))
                .containsExactly(ID, ShardflakeId.of(7));
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 7, -7, (1L << 53) - 1, 1 - (1L << 53)})
    void numbersThatAllReadAlikeAreIds(long number) throws JsonProcessingException {
        assertThat(mapper.readValue(Long.toString(number), ShardflakeId.class)).isEqualTo(ShardflakeId.of(number));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "9007199254740992        | beyond 2^53 a number may have been rounded: send the id as a string",
                "-9007199254740992       | beyond 2^53 a number may have been rounded: send the id as a string",
                "499335931086511100      | beyond 2^53 a number may have been rounded: send the id as a string",
                "99999999999999999999999 | beyond 2^53 a number may have been rounded: send the id as a string",
                "7.0                     | an id is a whole number, in a string",
                "7e0                     | an id is a whole number, in a string",
                "\"\"                    | \"\" is not an id: it is empty",
                "\"7.0\"                 | \"7.0\" is not an id: character 2 is not a digit",
                "\"100%d\"               | \"100%d\" is not an id: character 4 is not a digit",
                "true                    | Cannot deserialize value of type `org.shardflake.ShardflakeId` from Boolean value",
                "{}                      | Cannot deserialize value of type `org.shardflake.ShardflakeId` from Object value"
            })
    void refusesWhatIsNoIdForSure(String json, String reason) {
        assertThatThrownBy(() -> mapper.readValue(json, ShardflakeId.class))
                .isInstanceOf(DatabindException.class)
                .hasMessageContaining(reason);
    }

    @Test
    void refusesAKeyThatIsNoId() {
        assertThatThrownBy(() ->
                        mapper.readValue("{\"x\":\"harbour\"}", new TypeReference<Map<ShardflakeId, String>>() {}))
                .isInstanceOf(DatabindException.class)
                .hasMessageContaining("\"x\" is not an id: character 1 is not a digit");
    }
}
