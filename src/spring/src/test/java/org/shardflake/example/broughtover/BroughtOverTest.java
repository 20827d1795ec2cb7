/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.get;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.status;

import org.springframework.http.MediaType;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.RequestBuilder;
import org.springframework.test.web.servlet.setup.MockMvcBuilders;

/** {@link BroughtOver} with Spring Boot 4, and with requests. */
class BroughtOverTest extends BroughtOver {

    @Override
    void checkRequests(ClinicService clinic) throws Exception {
        MockMvc mvc =
                MockMvcBuilders.standaloneSetup(new OwnerController(clinic)).build();
        assertThat(answer(mvc, get("/owners/1")))
                .isEqualTo("{\"id\":\"1\",\"name\":\"George Franklin\",\"city\":\"Madison\",\"pets\":[\"Leo\"]}");
        mvc.perform(get("/owners/99")).andExpect(status().isNotFound());
        for (String name : new String[] {"Ada", "Bea", "Cleo"}) {
            answer(
                    mvc,
                    post("/owners")
                            .contentType(MediaType.APPLICATION_JSON)
                            .content("{\"firstName\": \"%s\", \"lastName\": \"Mvc%s\", \"city\": \"Ulm\"}"
                                    .formatted(name, name)));
        }
        assertThat(answer(mvc, get("/owners").param("lastName", "Mvc").param("page", "1")))
                .startsWith("{\"total\":3,")
                .contains("Cleo MvcCleo")
                .doesNotContain("Ada", "Bea");
    }

    private static String answer(MockMvc mvc, RequestBuilder request) throws Exception {
        return mvc.perform(request)
                .andExpect(status().isOk())
                .andReturn()
                .getResponse()
                .getContentAsString();
    }
}
