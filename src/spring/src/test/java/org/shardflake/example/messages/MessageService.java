/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.messages;

import java.util.List;
import org.shardflake.spring.OnShard;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

@Service
@OnShard("#uid")
@Transactional
public class MessageService {

    private final Messages messages;

    MessageService(Messages messages) {
        this.messages = messages;
    }

    public Message post(long uid, String text) {
        return messages.save(new Message(uid, text));
    }

    public void edit(long uid, long id, String text) {
        messages.findById(id).orElseThrow().edit(text);
    }

    @Transactional(readOnly = true)
    public List<Message> of(long uid) {
        return messages.findByUidOrderById(uid);
    }
}
