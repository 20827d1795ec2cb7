/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jackson;

import com.fasterxml.jackson.databind.json.JsonMapper;

class ShardflakeModuleTest implements IdsInJsonContract {

    private final JsonMapper mapper =
            JsonMapper.builder().addModule(new ShardflakeModule()).build();

    @Override
    public String write(Object value) throws Exception {
        return mapper.writeValueAsString(value);
    }

    @Override
    public String writeByFoundModule(Object value) throws Exception {
        return JsonMapper.builder().findAndAddModules().build().writeValueAsString(value);
    }

    @Override
    public <T> T read(String json, Class<T> type) throws Exception {
        return mapper.readValue(json, type);
    }

    @Override
    public <T> T readFromTree(String json, Class<T> type) throws Exception {
        return mapper.treeToValue(mapper.readTree(json), type);
    }
}
